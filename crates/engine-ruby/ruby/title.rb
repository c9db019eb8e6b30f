# frozen_string_literal: true

# What `$0` and lists of processes (`ps`) call a process, unless the application says it itself.

module FoolsGold
  module Title
    # Notices a title of the application.
    module Noticed
      def setproctitle(title)
        FoolsGold::Title.leave
        super
      end
    end

    SET = Process.method(:setproctitle)

    class << self
      # Sets `$0` to the name of the program: that of the server whose configuration this is, since files and
      # applications look for it there. What the application has said before does not count any more.
      def begin(server)
        @program = server[/\A\w+/] || "foolsgold"
        $PROGRAM_NAME = @program
        @is_left = false
        Process.singleton_class.prepend(Noticed)
      end

      # From now on the title is the application's business.
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
