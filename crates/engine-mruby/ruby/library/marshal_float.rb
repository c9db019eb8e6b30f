# The text of a Float for Marshal: the shortest that reads back as the same number.

module Marshal
  class Dump
    private

    def float(value)
      return "nan" if value.nan?
      return value > 0 ? "inf" : "-inf" if value.infinite?
      sign = value < 0 || 1 / value < 0 ? "-" : ""
      return "#{sign}0" if value == 0
      whole, fraction, power = value.abs.to_s.match(/(\d+)\.(\d+)(?:e(.*))?/).captures
      digits = "#{whole}#{fraction}".sub(/\A0+/, "")
      point = digits.size - fraction.size + power.to_i
      digits = digits.sub(/0+\z/, "")
      "#{sign}#{placed(digits, point)}"
    end

    # With an exponent below 1e-4, and where zeros would have to be added before the point.
    def placed(digits, point)
      if point > digits.size || point < -3
        rest = digits[1..-1]
        return "#{digits[0]}#{".#{rest}" unless rest.empty?}e#{point - 1}"
      end
      return "0.#{'0' * -point}#{digits}" if point <= 0
      point == digits.size ? digits : "#{digits[0, point]}.#{digits[point..-1]}"
    end
  end
end
