package api

// NewServerOn is [NewServer] on a listener that is there.
var NewServerOn = newServer

// LimitConns bounds the open connections of a listener.
var LimitConns = limitConns

// Outline decodes a body as it is held against a schema.
var Outline = outlineOf
