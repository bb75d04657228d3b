package rank

import "golang.org/x/sys/cpu"

const (
	// dotFourBlock is the number of bytes that dotFourFast reads at once.
	dotFourBlock = 32
	// dotFourMost is the number of bytes up to which the 16-bit sums of dotFourFast cannot overflow: 8 products of at most
	// 2×15×127.
	dotFourMost = 128
)

var hasDotFour = cpu.X86.HasAVX2

// dotFourFast returns the product of n bytes with two values of four bits, each increased by 8, and 2n values. N is a
// multiple of dotFourBlock, at most dotFourMost.
//
//go:noescape
func dotFourFast(x *byte, y *int8, n int) int32
