//! Load: what is asked, how answers are judged, tools driven and loops of our own.
