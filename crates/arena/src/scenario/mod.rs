//! What speed hides: slow clients, stuck endpoints, deaths, reloads, overload.
