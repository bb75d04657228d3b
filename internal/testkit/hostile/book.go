package hostile

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Book returns a harmless PDF of many pages, which limits must accept. Its words are random, so that it compresses
// like text.
func Book(pages int) []byte {
	draw := rand.New(rand.NewPCG(1, uint64(pages))) // the same words every time
	var kids, program strings.Builder
	all := []object{catalogue, "", helvetica}
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*i)
		program.Reset()
		program.WriteString("BT /F 10 Tf 12 TL 50 750 Td ")
		for range 50 {
			program.WriteString("(")
			for range 10 {
				program.WriteString(words[draw.IntN(len(words))])
			}
			program.WriteString(") Tj T* ")
		}
		all = append(all, object(fmt.Sprintf("<</Type/Page/Contents %d 0 R/Resources<</Font<</F 3 0 R>>>>>>", 5+2*i)),
			deflated("", once(program.String()+"ET"), 1))
	}
	all[1] = object(fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d>>", kids.String(), pages))
	return file(all...)
}

// words are the vocabulary of the book, with trailing spaces.
var words = strings.SplitAfter(
	"of data model the relation and users with to in for domain is a programs that banks representation as system set ",
	" ",
)

// Books returns an archive of harmless PDFs of ten pages.
func Books(n int) []byte {
	var parts []part
	for i := range n {
		parts = append(parts, part{name: fmt.Sprint(i, ".pdf"), content: string(Book(10))})
	}
	return zipped(parts...)
}
