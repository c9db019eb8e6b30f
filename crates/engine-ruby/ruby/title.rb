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
      # applications read it there. A worker's has its index in the form of that server: libraries for metrics tell
      # workers apart by it. A title that the application has set before is dropped.
      def begin(server, index = nil)
        name = server[/\A\w+/] || "foolsgold"
        @program = index ? with_index(name, server, index) : name
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

      private

      def with_index(name, server, index)
        case server
        when "puma" then "puma: cluster worker #{index}: #{Process.ppid}"
        when "unicorn", "pitchfork" then "#{name} worker[#{index}]"
        else name # Which has no such form, or no workers, as Puma's single mode.
        end
      end
    end
  end
end
