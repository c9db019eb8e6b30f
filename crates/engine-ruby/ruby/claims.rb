# frozen_string_literal: true

# The memory that a worker shares with the front (PROTOCOL.md, "Claims").

module FoolsGold
  # The worker writes here which request a slot begins, and the front which ones it has withdrawn. Each writes before it
  # reads what the other has written, so one of them knows.
  class Claims
    # The bytes of a slot, and how many numbers before another one count as before it. As in claims.rs.
    CLAIM = 8
    RECENT = 1024

    # Fetches those of a worker from the front.
    def self.fetch(wire, worker)
      connection = wire.open(Frames::CLAIMS_ROLE, worker)
      new(connection.recv_io(::IO, "r+b"))
    ensure
      connection&.close
    end

    attr_reader :file

    def initialize(file)
      @file = file
    end

    # Begins a request that was sent ahead; returns false if the front has withdrawn it.
    def begin(slot, seq)
      at = slot * CLAIM
      @file.pwrite([seq].pack("L"), at)
      withdrawn = @file.pread(4, at + 4).unpack1("L")
      ((withdrawn - seq) & 0xffff_ffff) >= RECENT
    end
  end
end
