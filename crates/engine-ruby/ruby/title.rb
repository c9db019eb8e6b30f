# frozen_string_literal: true

# The process title in `$0` and `ps`, unless the application sets one itself.

module FoolsGold
  module Title
    # Notices a title that the application sets.
    module Noticed
      def setproctitle(title)
        FoolsGold::Title.leave
        super
      end
    end

    SET = Process.method(:setproctitle)

    class << self
      # Sets `$0` to the name of the program: that of the server whose configuration this is, since files and
      # applications read it there. A title that the application has set before is dropped.
      def begin(server)
        @program = server[/\A\w+/] || "foolsgold"
        $PROGRAM_NAME = @program
        @is_left = false
        Process.singleton_class.prepend(Noticed)
      end

      # Leaves the title to the application from now on.
      def leave
        @is_left = true
      end

      # Shows a role such as `worker 1`, and perhaps a request.
      def show(role, tag, request = "")
        return if @is_left || $PROGRAM_NAME != @program

        parts = ["foolsgold: #{role}", ("[#{tag}]" unless tag.empty?), (request unless request.empty?)]
        SET.call(parts.compact.join(" "))
      rescue NotImplementedError
        nil
      end
    end
  end
end
