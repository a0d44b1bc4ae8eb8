package engine

// A token is a lock that is held while a store works. Those who wait for it wait as for any channel: unlike waiting for a
// mutex, that lets time pass in a bubble of testing/synctest.
type token chan struct{}

func newToken() token { return make(token, 1) }

func (t token) Lock()   { t <- struct{}{} }
func (t token) Unlock() { <-t }
