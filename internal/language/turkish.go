package language

import (
	"unicode"

	"github.com/blevesearch/snowballstem/turkish"
)

var turkishLanguage = &Language{
	Code: "tr", Name: "Turkish", Script: unicode.Latin,
	Aliases:  "tur türkçe turkce",
	Stem:     turkish.Stem,
	DotlessI: true,
	StopWords: `acaba ama ancak artık aslında az bazı belki ben bile bir biri birkaç biz bu buna bunda bundan bunu
		bunun çok çünkü da daha dahi de defa değil diğer diye en fakat gibi göre hangi hem henüz hep hepsi her hiç için
		ile ise kadar kendi ki kim kimin mı mi mu mü nasıl ne neden nedir nerede nereye niçin niye o olan olarak oldu
		olduğu olup on ona ondan onlar onu onun ve veya ya yani yok zaten nin nın nun nün dan den tan ten ta te in ın
		un ün ye nde nda ndan nden şey şu şunu siz sen var vardır`,
	Letters: "ğışöüç",
}
