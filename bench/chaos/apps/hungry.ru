# An application that needs memory: each worker grows to HUNGRY_MIB of its own, `/leak` leaks more with each request,
# and loading takes LOADED_MIB.

LOADED = "z" * (Integer(ENV.fetch("LOADED_MIB", "1")) << 20)
OWN = []
LEAKED = []
MOST = Integer(ENV.fetch("HUNGRY_MIB", "12"))

def text(words)
  [200, { "content-type" => "text/plain" }, [words]]
end

run(lambda do |env|
  OWN << ("y" * (1 << 20)) if OWN.size < MOST
  sleep 0.03
  LEAKED << ("x" * 200_000) if env["PATH_INFO"] == "/leak"
  text("gold\n")
end)
