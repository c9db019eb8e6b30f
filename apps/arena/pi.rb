# Pi to 5000 places by plain integers: Machin's formula, pi = 16 arctan(1/5) - 4 arctan(1/239).

# Numbers here are integers that count units of 10 ** -(places + GUARD).
module Pi
  PLACES = 5000
  # Each of the about 9000 divisions loses less than one unit, which is then taken 16 times at most: six places are
  # lost, ten are spared.
  GUARD = 10

  # "3." and the places, the last one cut off, not rounded.
  def self.digits(places = PLACES)
    one = 10**(places + GUARD)
    pi = 16 * arctan_of_inverse(5, one) - 4 * arctan_of_inverse(239, one)
    digits = (pi / 10**GUARD).to_s
    "#{digits[0]}.#{digits[1..-1]}"
  end

  # arctan(1/x) = 1/x - 1/3x^3 + 1/5x^5 - ...
  def self.arctan_of_inverse(x, one)
    square = x * x
    power = one / x
    sum = power
    odd = 1
    until power.zero?
      power /= -square
      odd += 2
      sum += power / odd
    end
    sum
  end
end
