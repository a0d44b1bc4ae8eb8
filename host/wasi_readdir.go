package host

import (
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"
)

// direntSize is the length of an entry of fd_readdir without its name.
const direntSize = 24

// readdirChunk is how many bytes of entries wazero is asked for at once. It keeps for each open folder as many entries as a
// guest's buffer could hold, outside the guest's memory and its limit: with this, at most 171.
const readdirChunk = 4 << 10

// fdReaddir surrounds fd_readdir of wazero: (fd, buffer, its length, cookie, where the number of bytes goes). It fills the
// guest's buffer in pieces, so that what is kept of a folder does not depend on what the guest asks for.
func fdReaddir(inner func(*run, api.Module, []uint64)) func(*run, api.Module, []uint64) {
	return func(r *run, m api.Module, s []uint64) {
		fd, buf, size, cookie, result := s[0], api.DecodeU32(s[1]), api.DecodeU32(s[2]), s[3], api.DecodeU32(s[4])
		if size <= readdirChunk {
			inner(r, m, s)
			return
		}
		mem := m.Memory()
		if _, ok := mem.Read(buf, size); !ok {
			s[0] = wasiFault
			return
		}
		for filled := uint32(0); ; {
			r.pause()
			piece := min(size-filled, readdirChunk)
			if piece < direntSize { // no entry begins in what is left, and that it is full says that there are more
				s[0] = wasiSuccess
				filled = size
			} else {
				s[0], s[1], s[2], s[3], s[4] = fd, uint64(buf+filled), uint64(piece), cookie, uint64(result)
				inner(r, m, s)
				if s[0] != wasiSuccess {
					return
				}
				used, _ := mem.ReadUint32Le(result) // it has just been written
				whole, next := entries(mem, buf+filled, min(used, piece))
				switch {
				case used < piece, filled+piece == size:
					filled += used
				case whole == 0:
					s[0] = wasiNameTooLong // no system has such names
					return
				default:
					filled, cookie = filled+whole, next
					continue
				}
			}
			if !mem.WriteUint32Le(result, filled) {
				s[0] = wasiFault
			}
			return
		}
	}
}

// entries returns the bytes of the entries that are whole at a place, and the cookie after the last of them.
func entries(mem api.Memory, at, size uint32) (whole uint32, next uint64) {
	b, _ := mem.Read(at, size)
	for {
		rest := b[whole:]
		if len(rest) < direntSize {
			return whole, next
		}
		name := binary.LittleEndian.Uint32(rest[16:])
		if uint64(direntSize)+uint64(name) > uint64(len(rest)) {
			return whole, next
		}
		next = binary.LittleEndian.Uint64(rest)
		whole += direntSize + name
	}
}
