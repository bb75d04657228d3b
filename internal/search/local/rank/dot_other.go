//go:build !amd64

package rank

const (
	dotFourBlock = 32
	dotFourMost  = 128
	hasDotFour   = false
)

func dotFourFast(*byte, *int8, int) int32 { panic("rank: no vector instructions") }
