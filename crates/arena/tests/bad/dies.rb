# Exits at once.
warn "no such database"
exit 3
