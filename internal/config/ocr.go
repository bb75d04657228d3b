package config

import (
	"errors"
	"net/url"
	"time"

	"carrel/internal/lazyregexp"
)

// OCR are the settings for the text recognition of pages that are images.
type OCR struct {
	// Engine is "off", "tesseract" or the URL of a service.
	Engine string
	// Key is the bearer token of the service.
	Key string
	// Languages are those of tesseract, separated by "+".
	Languages string
	// Time limits the recognition of one image.
	Time time.Duration
}

const (
	ocrOff       = "off"
	ocrTesseract = "tesseract"
)

// Off reports whether images are not read.
func (o OCR) Off() bool { return o.Engine == "" || o.Engine == ocrOff }

// Tesseract reports whether the command tesseract reads images.
func (o OCR) Tesseract() bool { return o.Engine == ocrTesseract }

func checkOCR(s string) error {
	if s == ocrOff || s == ocrTesseract {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return errors.New("must be off, tesseract, or an http or https URL such as https://ocr.example.org/read")
	}
	return nil
}

var ocrLanguages = lazyregexp.New(`^[A-Za-z_]{2,20}(/[A-Za-z_]{2,20})?(\+[A-Za-z_]{2,20}(/[A-Za-z_]{2,20})?)*$`)

func checkOCRLanguages(s string) error {
	if !ocrLanguages.MatchString(s) {
		return errors.New("must be names of languages of tesseract, such as eng+deu")
	}
	return nil
}
