package api

// NewServerOn is [NewServer] on a listener that is there.
var NewServerOn = newServer
