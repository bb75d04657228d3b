package account

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/core"
)

// commonPasswords is a sorted list of lower-case passwords, one a line; scripts/common-passwords makes it.
//
//go:embed common-passwords.txt.gz
var commonPasswords []byte

// The reasons for which a new password is refused. They say what to choose instead and never repeat the password.
const (
	passwordCommon   = "This password is easily guessed. Choose another one, such as a few words that do not belong together."
	passwordPersonal = "This password is made of your name, your e-mail address or the name of this product. Choose another one, such as a few words that do not belong together."
)

// product is a word that guesses at this service start with.
const product = "carrel"

// minPersonal is the length from which a part of a name or an address counts as a word to guess with.
const minPersonal = 3

// minStem is the length from which a word of the list counts as one when digits and signs surround it.
const minStem = 4

// maxAffix is how many characters around a common word are still a decoration of it (password2026!) rather than a secret
// of their own.
const maxAffix = 6

// minVaried is how many characters must be left of a password when repetitions and sequences count as one character.
const minVaried = 5

// passwordProblem is the one rule for a password that is about to be set: its length, then whether it can be guessed from
// a list of common passwords, from its pattern, or from the e-mail address and the name of its user. It returns what to
// do about it, or nothing. Passwords that exist already are not held to it when people sign in.
func passwordProblem(password, email, name string) (string, error) {
	if detail := (core.TextRule{Min: minPassword, Max: maxPassword, Verbatim: true}).Check(password); detail != "" {
		return detail, nil
	}
	rest := withoutPersonal(password, email, name)
	if rest != password && utf8.RuneCountInString(rest) < minPassword {
		return passwordPersonal, nil
	}
	weak, err := isCommon(rest)
	if err != nil || !weak {
		return "", err
	}
	if rest != password {
		return passwordPersonal, nil
	}
	return passwordCommon, nil
}

// withoutPersonal cuts the words out of a password that an attacker knows of its user. What is left must be a good
// password on its own. A password without such words is returned as it is.
func withoutPersonal(password, email, name string) string {
	local, domain, _ := strings.Cut(strings.ToLower(email), "@")
	labels := strings.Split(domain, ".")
	known := strings.Join(labels[:len(labels)-1], " ") // the last label, such as org, says nothing of a person
	words := []string{product, lettersAndDigits(local), lettersAndDigits(name)}
	for _, text := range []string{local, known, strings.ToLower(name)} {
		words = append(words, strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })...)
	}
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) }) // whole names before their parts
	rest := foldPassword(password)
	before := rest
	for _, word := range words {
		if utf8.RuneCountInString(word) >= minPersonal {
			rest = strings.ReplaceAll(rest, foldPassword(word), "")
		}
	}
	if rest == before {
		return password
	}
	return strings.TrimFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func lettersAndDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// unleet undoes the usual replacements of letters by the signs that look like them.
var unleet = strings.NewReplacer("0", "o", "1", "l", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i")

func foldPassword(s string) string { return unleet.Replace(strings.ToLower(s)) }

// isCommon reports whether a password is on the list, decorated or twice in a row too, or is a mere pattern.
func isCommon(password string) (bool, error) {
	lower := strings.ToLower(password)
	if varied(lower) < minVaried {
		return true, nil
	}
	forms := []string{lower, unleet.Replace(lower)}
	joined := lettersAndDigits(lower)
	forms = append(forms, joined, unit(joined))
	letter := func(r rune) bool { return !unicode.IsLetter(r) }
	// "password2026!", "2026password" and "p@ssw0rd!": the affixes go before the signs inside are read as letters.
	for _, form := range []string{lower, strings.Trim(lower, "0123456789"), unleet.Replace(strings.TrimFunc(lower, notLetterLike))} {
		stem := strings.TrimFunc(form, letter)
		if utf8.RuneCountInString(stem) >= minStem && varied(strings.Replace(lower, stem, "", 1)) <= maxAffix {
			forms = append(forms, stem, unit(stem))
		}
	}
	return listed(forms)
}

// notLetterLike is true for what is neither a letter nor a sign that stands for one inside a word. Digits at the ends of
// a word are decoration.
func notLetterLike(r rune) bool { return !unicode.IsLetter(r) && r != '@' && r != '$' }

// unit returns the shortest text that s repeats, or s.
func unit(s string) string {
	for n := 1; n <= len(s)/2; n++ {
		if len(s)%n == 0 && strings.Repeat(s[:n], len(s)/n) == s {
			return s[:n]
		}
	}
	return s
}

// keyboardRows are the sequences that fingers make; the alphabet and the digits are sequences by their numbers.
var keyboardRows = []string{"qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "yxcvbnm", "azertyuiop", "1234567890"}

// varied counts the characters of s without those that only go on with the one before: repeated, next or previous in the
// alphabet, or neighbours on the keyboard.
func varied(s string) int {
	n := 0
	var last rune
	for _, r := range s {
		if n == 0 || !goesOn(last, r) {
			n++
		}
		last = r
	}
	return n
}

func goesOn(a, b rune) bool {
	if d := b - a; d >= -1 && d <= 1 {
		return true
	}
	return slices.ContainsFunc(keyboardRows, func(row string) bool {
		i, j := strings.IndexRune(row, a), strings.IndexRune(row, b)
		return i >= 0 && j >= 0 && (i-j == 1 || j-i == 1)
	})
}

// listed reports whether one of the forms is on the list. It is read from its compressed form each time: passwords are
// set rarely, and hashing one takes ten times as long.
func listed(forms []string) (bool, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(commonPasswords))
	if err != nil {
		return false, fmt.Errorf("read the list of common passwords: %w", err)
	}
	lines := bufio.NewScanner(unzipped)
	for lines.Scan() {
		if slices.ContainsFunc(forms, func(form string) bool { return form == string(lines.Bytes()) }) {
			return true, nil
		}
	}
	if err := lines.Err(); err != nil {
		return false, fmt.Errorf("read the list of common passwords: %w", err)
	}
	return false, nil
}
