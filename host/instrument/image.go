package instrument

// Image is what a new memory holds from an offset on, in bytes. The rest of the memory is zero.
type Image struct {
	Offset uint32
	Data   []byte
}

// takeImage moves the bytes of active data segments into an image, and leaves empty segments, so that the indices of the
// others stay. There is none when the place of a segment is not known, when there are fewer bytes than least, or when it
// would be longer than most since there are wide gaps.
func takeImage(segments []dataSegment, least, most int) Image {
	low, high, sum := uint64(1)<<32, uint64(0), 0
	for _, s := range segments {
		switch {
		case s.passive || s.known && len(s.data) == 0:
		case !s.known:
			return Image{}
		default:
			low, high = min(low, uint64(s.offset)), max(high, s.end())
			sum += len(s.data)
		}
	}
	if sum == 0 || sum < least || high-low > uint64(most) {
		return Image{}
	}
	image := Image{Offset: uint32(low), Data: make([]byte, high-low)}
	for i := range segments {
		if s := &segments[i]; !s.passive && len(s.data) > 0 {
			copy(image.Data[uint64(s.offset)-low:], s.data)
			s.data = nil
		}
	}
	return image
}
