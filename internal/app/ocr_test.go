package app

import (
	"testing"
	"time"

	"carrel/internal/config"
	"carrel/internal/ocr"
)

func TestTheSettingOCRSelectsTheRecognizer(t *testing.T) {
	t.Parallel()
	if got := recognizer(config.OCR{Engine: "off"}); got != nil {
		t.Errorf("off: %v", got)
	}
	settings := config.OCR{Engine: "tesseract", Languages: "eng", Time: time.Minute, Key: "key"}
	if got, is := recognizer(settings).(*ocr.Tesseract); !is || got.Languages != "eng" || got.Timeout != time.Minute {
		t.Errorf("tesseract: %+v", got)
	}
	settings.Engine = "http://127.0.0.1:9/read"
	got, is := recognizer(settings).(*ocr.Endpoint)
	if !is || got.URL != settings.Engine || got.Key != "key" || got.Languages != "eng" || got.Client == nil {
		t.Errorf("a service: %+v", got)
	}
}
