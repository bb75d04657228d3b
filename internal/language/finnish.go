package language

import (
	"unicode"

	"github.com/blevesearch/snowballstem/finnish"
)

var finnishLanguage = &Language{
	Code: "fi", Name: "Finnish", Script: unicode.Latin,
	Aliases: "fin suomi",
	Stem:    finnish.Stem,
	StopWords: `ei eivät en että he hän ja jo joka jos jossa jotka jota joita kanssa koska kuin kuinka kuka kun me
		mihin mikä miksi millainen milloin minkä minä missä mitkä mitä miten mukaan mutta myös ne niin niiden niitä nyt
		näiden nämä näitä ole olen olevat oli olisi olivat olla on onko ovat se sekä sen siitä sillä sinä sitten sitä
		tai te tämä tämän tässä tätä vai vaikka voi voidaan voivat`,
	Letters: "äö",
}
