# Sums of primes by Ruby's Prime, for both halves: what is asked for is checked here, and remembered here.

require "prime"

# Answers a text from the path with a status and a text; any number of threads may ask at once.
class Sums
  MOST = 100_000

  def initialize
    @known = {}
    @lock = Mutex.new
    # Prime's sieve belongs to the process, and two threads that make it grow at once can enter primes twice. So it
    # grows here, before any request, to the most that is ever asked for; later it is only read.
    Prime.first(MOST)
  end

  def answer(text, cached)
    return [400, wrong(text)] unless text.match?(/\A[0-9]+\z/) && text.to_i <= MOST
    number = text.to_i
    sum = cached ? remembered(number) : sum(number)
    [200, sum.to_s]
  end

  private

  # Outside of the lock, so that a large sum does not hold up a remembered one: at worst, two threads do the same sum.
  def remembered(number)
    known = @lock.synchronize { @known[number] }
    return known if known
    sum = sum(number)
    @lock.synchronize { @known[number] = sum }
  end

  def sum(number)
    Prime.first(number).sum
  end

  def wrong(text)
    "#{text.inspect} is not a count of primes: give a whole number from 0 to #{MOST}, in digits, such as 1000\n"
  end
end

# The one of this process.
SUMS = Sums.new
