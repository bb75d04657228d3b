package webapp

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"

	"rsc.io/qr"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/signin"
)

// totpPath is where an authenticator app is set up.
const totpPath = SecurityPath + "/totp"

// totpPage is what the set-up of an authenticator app shows: first the secret, then recovery codes.
type totpPage struct {
	Title     string
	Secret    string
	QR        template.HTML
	CodeError string
	Codes     []string
}

// beginTOTP makes a secret and goes on to the page that shows it, so that reloading makes no other.
func (a *App) beginTOTP(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	if _, err := a.Auth.Factors.Begin(r.Context(), actorOf(found)); err != nil {
		a.did(w, r, err)
		return
	}
	a.seeOther(w, totpPath)
}

func (a *App) showTOTP(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	a.showTOTPForm(w, r, found, http.StatusOK, "")
}

func (a *App) showTOTPForm(w http.ResponseWriter, r *http.Request, found credential.FoundSession, status int, wrong string) {
	e, err := a.Auth.Factors.Unconfirmed(r.Context(), actorOf(found))
	switch {
	case core.IsKind(err, core.KindNotFound):
		a.seeOther(w, SecurityPath)
		return
	case err != nil:
		a.did(w, r, err)
		return
	}
	picture, err := drawQR(e.URI)
	if err != nil {
		a.trouble(w, r, err)
		return
	}
	a.show(w, r, status, "totp", totpPage{Title: "Set up an authenticator app", Secret: e.Secret, QR: picture, CodeError: wrong})
}

func (a *App) confirmTOTP(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	counted, err := a.Auth.Limits.Attempt(r.Context(), signin.Guess{SessionID: found.Session.ID})
	if err != nil {
		a.limited(w, r, err, func(detail string) { a.showTOTPForm(w, r, found, http.StatusTooManyRequests, detail) })
		return
	}
	codes, err := a.Auth.Factors.Confirm(r.Context(), actorOf(found), r.PostForm.Get("code"))
	switch {
	case core.IsKind(err, core.KindInvalid):
		a.showTOTPForm(w, r, found, http.StatusUnprocessableEntity, core.AsError(err).Fields[0].Detail)
	case err != nil:
		a.did(w, r, err)
	default:
		if err := a.Auth.Limits.Forgive(r.Context(), counted); err != nil {
			a.trouble(w, r, err)
			return
		}
		a.showCodes(w, r, codes)
	}
}

// showCodes is the one time that recovery codes are shown.
func (a *App) showCodes(w http.ResponseWriter, r *http.Request, codes []string) {
	a.show(w, r, http.StatusOK, "codes", totpPage{Title: "Keep your recovery codes", Codes: codes})
}

func (a *App) renewCodes(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	codes, err := a.Auth.Factors.Renew(r.Context(), actorOf(found))
	if err != nil {
		a.did(w, r, err)
		return
	}
	a.showCodes(w, r, codes)
}

func (a *App) removeTOTP(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	a.did(w, r, a.Auth.Factors.Remove(r.Context(), actorOf(found)))
}

// quiet is how wide the empty border of a QR code must be (ISO/IEC 18004, 6.3.8).
const quiet = 4

// drawQR draws a text as a picture inside the page: one path, black on white in every theme, because readers need it so.
func drawQR(text string) (template.HTML, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", fmt.Errorf("encode a QR code: %w", err)
	}
	var b bytes.Buffer
	size := code.Size + 2*quiet
	fmt.Fprintf(&b, `<svg class="qr" viewBox="0 0 %d %d" role="img" aria-label="QR code for the authenticator app" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h%dv%dH0z"/><path d="`, size, size, size, size)
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				fmt.Fprintf(&b, "M%d %dh1v1h-1z", x+quiet, y+quiet)
			}
		}
	}
	b.WriteString(`"/></svg>`)
	return template.HTML(b.String()), nil //nolint:gosec // numbers alone
}
