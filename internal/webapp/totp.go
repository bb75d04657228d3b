package webapp

import (
	"bytes"
	"fmt"
	"net/http"

	"rsc.io/qr"

	"carrel/internal/core"
	"carrel/internal/credential"
	"carrel/internal/signin"
)

// totpPath is the page that sets up an authenticator app.
const totpPath = SecurityPath + "/totp"

// totpPage is the content of the set-up page and, with Codes, of the page with the recovery codes.
type totpPage struct {
	Secret    string
	QR        markup
	CodeError string
	Codes     []string
}

// beginTOTP creates a secret and redirects to the page that shows it, so that reloading does not create another.
func (a *App) beginTOTP(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	if _, err := a.Auth.Factors.Begin(r.Context(), actorOf(found)); err != nil {
		a.respondToChange(w, r, err)
		return
	}
	a.seeOther(w, totpPath)
}

func (a *App) showTOTP(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	a.showTOTPForm(w, r, found, http.StatusOK, "")
}

func (a *App) showTOTPForm(
	w http.ResponseWriter, r *http.Request, found credential.FoundSession, status int, codeError string,
) {
	e, err := a.Auth.Factors.Unconfirmed(r.Context(), actorOf(found))
	switch {
	case core.IsKind(err, core.KindNotFound):
		a.seeOther(w, SecurityPath)
		return
	case err != nil:
		a.respondToChange(w, r, err)
		return
	}
	code, err := drawQR(e.URI, textsFor(r).text("totp.qr"))
	if err != nil {
		a.serverError(w, r, err)
		return
	}
	a.show(w, r, status, "totp", totpPage{Secret: e.Secret, QR: code, CodeError: codeError})
}

func (a *App) confirmTOTP(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	counted, err := a.Auth.Limits.Attempt(r.Context(), signin.Guess{SessionID: found.Session.ID})
	if err != nil {
		a.limitError(w, r, err, func(message string) {
			a.showTOTPForm(w, r, found, http.StatusTooManyRequests, message)
		})
		return
	}
	codes, err := a.Auth.Factors.Confirm(r.Context(), actorOf(found), r.PostForm.Get("code"))
	switch {
	case core.IsKind(err, core.KindInvalid):
		a.showTOTPForm(w, r, found, http.StatusUnprocessableEntity, textsFor(r).firstField(err))
	case err != nil:
		a.respondToChange(w, r, err)
	default:
		if err := a.Auth.Limits.Forgive(r.Context(), counted); err != nil {
			a.serverError(w, r, err)
			return
		}
		a.showCodes(w, r, codes)
	}
}

// showCodes shows new recovery codes. Only their hashes are stored, so it is the only time.
func (a *App) showCodes(w http.ResponseWriter, r *http.Request, codes []string) {
	a.show(w, r, http.StatusOK, "codes", totpPage{Codes: codes})
}

func (a *App) renewCodes(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	codes, err := a.Auth.Factors.Renew(r.Context(), actorOf(found))
	if err != nil {
		a.respondToChange(w, r, err)
		return
	}
	a.showCodes(w, r, codes)
}

func (a *App) removeTOTP(w http.ResponseWriter, r *http.Request, found credential.FoundSession) {
	a.respondToChange(w, r, a.Auth.Factors.Remove(r.Context(), actorOf(found)))
}

// quietZone is the required width of the empty border of a QR code, in modules (ISO/IEC 18004, 6.3.8).
const quietZone = 4

// drawQR returns a QR code as an inline SVG. It is black on white in every theme, as scanners expect.
func drawQR(text, label string) (markup, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", fmt.Errorf("encode a QR code: %w", err)
	}
	var b bytes.Buffer
	size := code.Size + 2*quietZone
	fmt.Fprintf(&b, `<svg class="qr" viewBox="0 0 %[1]d %[1]d" role="img" aria-label="%[2]s" `+
		`shape-rendering="crispEdges"><path fill="#fff" d="M0 0h%[1]dv%[1]dH0z"/><path d="`,
		size, escapeText(label))
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				fmt.Fprintf(&b, "M%d %dh1v1h-1z", x+quietZone, y+quietZone)
			}
		}
	}
	b.WriteString(`"/></svg>`)
	return markup(b.String()), nil //nolint:gosec // numbers and an escaped label
}
