# frozen_string_literal: true

# An answer from the frames that a slot sends, as the front reads it.

class Front
  # A frame of a slot, taken apart.
  Answer = Struct.new(:kind, :seq, :status, :flags, :headers, :body) do
    def self.read(frame)
      kind, payload = frame
      case kind
      when F::ANSWER
        seq, status, flags, pairs, length = payload.unpack("NnCnN")
        list = F.strings(payload.byteslice(13, length))
        raise "#{pairs} pairs announced, #{list.inspect} sent" unless list.size == pairs * 2

        new(kind, seq, status, flags, list.each_slice(2).to_a, payload.byteslice(13 + length, payload.bytesize))
      when F::FAULT, F::BAD
        new(kind, payload.unpack1("N"), nil, payload.getbyte(4), nil, payload.byteslice(5, 99_999))
      when F::HINTS then new(kind, payload.unpack1("N"), nil, nil, nil, payload.byteslice(4, 99_999))
      else new(kind, nil, nil, nil, nil, payload)
      end
    end
  end
end
