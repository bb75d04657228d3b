package analysis

import (
	"strings"
	"testing"
)

// abstract is a hundred words of a typical document.
const abstract = `We present a method for ranking the passages of long documents by how well they answer a question. The method
combines lexical matching, which is fast and needs no training, with a small neural model that is applied to the two
hundred best candidates only. In experiments on five collections it improves the mean average precision by eleven per cent
over a strong baseline, at a cost of less than three milliseconds per query. We analyse where the improvements come from,
show that most of them are due to questions whose words differ from those of their answers, and release our code and data.`

func BenchmarkTokens(b *testing.B) {
	texts := map[string]struct{ language, text string }{
		"english": {"en", abstract},
		"german": {"de", strings.Repeat(`Für die Größe der Bücher in öffentlichen Bibliotheken wäre es möglich, während der Öffnungszeiten
			ausführliche Auskünfte über die verfügbaren Übersetzungen zu erhalten und sie später zurückzugeben. `, 4)},
		"russian": {
			"ru", strings.Repeat("Мы предлагаем новый способ поиска ответов в больших собраниях научных статей и книг. ", 8),
		},
		"chinese": {"", strings.Repeat("我们提出了一种在大量科学论文中检索答案的新方法。", 10)},
	}
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			a := New(text.language)
			words := len(strings.Fields(text.text))
			b.ReportAllocs()
			for b.Loop() {
				for range a.Tokens(text.text) {
				}
			}
			if words > 1 {
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(words)*100/1000, "µs/100words")
			}
		})
	}
}

func BenchmarkPassages(b *testing.B) {
	text := strings.Repeat("# Methods\n\n"+strings.Repeat(abstract+"\n\n", 10), 40)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Passages(text)
	}
}

func BenchmarkGuess(b *testing.B) {
	text := strings.Repeat(abstract, 4)
	b.ReportAllocs()
	for b.Loop() {
		if Guess(text) != "en" {
			b.Fatal("not English")
		}
	}
}
