package language

import (
	"unicode"

	"github.com/blevesearch/snowballstem/romanian"
)

var romanianLanguage = &Language{
	Code: "ro", Name: "Romanian", Script: unicode.Latin,
	Aliases: "ron rum mo română",
	Stem:    romanian.Stem,
	Respell: romanianCedillas.Replace,
	StopWords: `a acest aceasta această aceste acestea acestei acestor acestui al ale am anume ar are aș ași asupra
		atât au avea ca că când care cărei căror cărui câți câte ce cel cele cea cei cine către cu cum da dacă dar de
		deci decât despre din dintre după e ea ei el ele era erau este eu fi fie fiind fost i iar îl îi în înainte
		între își însă l la le lor lui mai mult ne nici nu o ori pe pentru prin sa să sale săi sau se și sub sunt s-a
		te toate tot tu un unde unei unele unor unui va vă vor`,
	Letters: "șțşţăâî",
}
