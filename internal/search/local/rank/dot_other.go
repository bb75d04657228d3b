//go:build !amd64

package rank

const (
	dotFourBlock = 32
	dotFourMost  = 128
	hasDotFour   = false
	hasNearCodes = false
	hasNearEight = false
)

func dotFourFast(*byte, *int8, int) int32 { panic("rank: no vector instructions") }

func dotsFourFast(*byte, *int8, int, *int32) { panic("rank: no vector instructions") }

func nearCodesFast(*uint64, int, *uint64, int, *uint16) int {
	panic("rank: no instruction to count bits")
}

func nearCodesAVX512(*uint64, int, *uint64, int, *uint64, *uint16) int {
	panic("rank: no vector instructions")
}
