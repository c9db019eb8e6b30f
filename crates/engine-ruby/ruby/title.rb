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

    # Notices that this process has been forked, by the application or by the mold (from Ruby 3.1 on).
    module Forked
      def _fork
        super.tap { |pid| FoolsGold::Title.show_child if pid.zero? }
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
        Process.singleton_class.prepend(Forked) if Process.respond_to?(:_fork)
      end

      # Leaves the title to the application from now on.
      def leave
        @is_left = true
      end

      # Shows a role such as `worker 1`, and perhaps a request.
      def show(role, tag, request = "")
        @role = tag.empty? ? role : "#{role} [#{tag}]"
        set(request.empty? ? @role : "#{@role} #{request}")
      end

      # Shows a process that was forked from one with a role as what it is. A worker shows its own role then.
      def show_child
        set("child of #{@role}")
      end

      private

      def set(text)
        SET.call("foolsgold: #{text}") unless @is_left || $PROGRAM_NAME != @program
      rescue NotImplementedError
        nil
      end

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
