package rank

import "golang.org/x/sys/cpu"

const (
	// dotFourBlock is the number of bytes that dotFourFast reads at once.
	dotFourBlock = 32
	// dotFourMost is the number of bytes up to which the 16-bit sums of dotFourFast cannot overflow: 8 products of at most
	// 2×15×127.
	dotFourMost = 128
)

var (
	hasDotFour   = cpu.X86.HasAVX2
	hasNearCodes = cpu.X86.HasPOPCNT
	hasNearEight = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW
)

// dotFourFast returns the product of n bytes with two values of four bits, each increased by 8, and 2n values. N is a
// multiple of dotFourBlock, at most dotFourMost.
//
//go:noescape
func dotFourFast(x *byte, y *int8, n int) int32

// dotsFourFast computes the products of CellDims/2 bytes with two values of four bits, each increased by 8, and n rows
// of CellDims values. N is not 0.
//
//go:noescape
func dotsFourFast(x *byte, rows *int8, n int, products *int32)

// nearCodesFast writes to near the numbers of those of n codes of four words, at most 1<<16, that differ from code in
// at most limit bits, and returns how many there are. N is not 0.
//
//go:noescape
func nearCodesFast(codes *uint64, n int, code *uint64, limit int, near *uint16) int

// nearCodesAVX512 writes to near the numbers of those of 8n codes of four words, at most 1<<16, that are set in within
// and differ from code in at most limit bits, and returns how many there are. N is not 0.
//
//go:noescape
func nearCodesAVX512(codes *uint64, n int, code *uint64, limit int, within *uint64, near *uint16) int
