package httpapi

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/go-faster/jx"

	"carrel/internal/core"
	"carrel/internal/httpapi/oas"
	"carrel/internal/signin/passkey"
)

// withPasskey is the name of a proof with a passkey in the audit log.
const withPasskey = "passkey"

// ChangePassword answers POST /api/account/password.
func (h handlers) ChangePassword(ctx context.Context, req *oas.PasswordChange) (*oas.Changed, error) {
	if err := h.Auth.Passwords.Change(ctx, actor(ctx), req.NewPassword); err != nil {
		return nil, at(err, "/password", "/newPassword")
	}
	return &oas.Changed{Changed: true}, nil
}

// at changes the pointer of a field error to the name of the field in the body.
func at(err error, from, to string) error {
	e := core.AsError(err)
	if len(e.Fields) != 1 || e.Fields[0].Pointer != from {
		return err
	}
	return core.InvalidField(to, e.Fields[0].Detail)
}

// codeRule and ceremonyRule limit the input that is hashed to compare it with a secret.
var (
	codeRule     = core.TextRule{Max: 40}
	ceremonyRule = core.TextRule{Max: 100}
)

// text is a text field whose length no service checks.
type text struct {
	pointer, value string
	rule           core.TextRule
}

// checkTexts checks the lengths of text fields.
func checkTexts(fields ...text) error {
	var bad []core.FieldError
	for _, f := range fields {
		if detail := f.rule.Check(f.value); detail != "" {
			bad = append(bad, core.FieldError{Pointer: f.pointer, Detail: detail})
		}
	}
	if bad != nil {
		return core.Invalid(bad...)
	}
	return nil
}

// StepUp answers POST /api/account/step-up, with a password or a passkey.
func (h handlers) StepUp(ctx context.Context, req *oas.StepUp) (*oas.StepUpReply, error) {
	who := actor(ctx)
	err := checkTexts(
		text{"/password", req.Password.Value, core.TextRule{Max: 256, Verbatim: true}},
		text{"/code", req.Code.Value, codeRule}, text{"/ceremony", req.Ceremony.Value, ceremonyRule},
	)
	if err != nil {
		return nil, err
	}
	if req.Ceremony.Set || req.Answer.Set {
		err = h.provePasskey(ctx, who, req)
	} else {
		err = h.Auth.Proofs.WithPassword(ctx, who, h.address(ctx), req.Password.Value, req.Code.Value)
	}
	if err != nil {
		return nil, err
	}
	return &oas.StepUpReply{ProvedUntil: timestamp(h.Clock.Now().Add(core.ProofLife))}, nil
}

func (h handlers) provePasskey(ctx context.Context, who core.Actor, req *oas.StepUp) error {
	if err := h.Auth.Limits.FromNetwork(ctx, h.address(ctx)); err != nil {
		return err
	}
	answer, err := encodeAnswer(req.Answer.Value)
	if err != nil {
		return err
	}
	if err := h.Passkeys.FinishProof(ctx, who, req.Ceremony.Value, answer); err != nil {
		return err
	}
	return h.Auth.Proofs.Accept(ctx, who, withPasskey)
}

// BeginStepUp answers POST /api/account/step-up/options.
func (h handlers) BeginStepUp(ctx context.Context) (*oas.CeremonyReply, error) {
	c, err := h.Passkeys.BeginProof(ctx, actor(ctx))
	return ceremonyReply(c, err)
}

// ListPasskeys answers GET /api/account/passkeys.
func (h handlers) ListPasskeys(ctx context.Context) (*oas.PasskeyList, error) {
	passkeys, err := h.Passkeys.List(ctx, actor(ctx))
	if err != nil {
		return nil, err
	}
	out := &oas.PasskeyList{Passkeys: make([]oas.Passkey, len(passkeys)), Available: h.Passkeys.Available()}
	for i, k := range passkeys {
		out.Passkeys[i] = passkeyOf(k)
	}
	return out, nil
}

// BeginPasskey answers POST /api/account/passkeys/options.
func (h handlers) BeginPasskey(ctx context.Context) (*oas.CeremonyReply, error) {
	c, err := h.Passkeys.BeginEnrol(ctx, actor(ctx))
	return ceremonyReply(c, err)
}

// AddPasskey answers POST /api/account/passkeys.
func (h handlers) AddPasskey(ctx context.Context, req *oas.PasskeyCreate) (*oas.PasskeyReply, error) {
	if err := checkTexts(text{"/ceremony", req.Ceremony, ceremonyRule}); err != nil {
		return nil, err
	}
	answer, err := encodeAnswer(req.Answer)
	if err != nil {
		return nil, err
	}
	k, err := h.Passkeys.FinishEnrol(ctx, actor(ctx), req.Ceremony, req.Name, answer)
	return passkeyReply(k, err)
}

// RenamePasskey answers PATCH /api/account/passkeys/{passkeyId}.
func (h handlers) RenamePasskey(
	ctx context.Context, req *oas.PasskeyChange, p oas.RenamePasskeyParams,
) (*oas.PasskeyReply, error) {
	k, err := h.Passkeys.Rename(ctx, actor(ctx), p.PasskeyId, req.Name)
	return passkeyReply(k, err)
}

// RemovePasskey answers DELETE /api/account/passkeys/{passkeyId}.
func (h handlers) RemovePasskey(ctx context.Context, p oas.RemovePasskeyParams) (*oas.Deleted, error) {
	return deleted(h.Passkeys.Remove(ctx, actor(ctx), p.PasskeyId))
}

// GetTotp answers GET /api/account/totp.
func (h handlers) GetTotp(ctx context.Context) (*oas.TotpReply, error) {
	s, err := h.Auth.Factors.Status(ctx, actor(ctx))
	if err != nil {
		return nil, err
	}
	return &oas.TotpReply{Totp: oas.Totp{
		Offered: s.Offered, Since: optionalTime(s.Since), RecoveryCodesLeft: s.RecoveryCodes,
	}}, nil
}

// BeginTotp answers POST /api/account/totp.
func (h handlers) BeginTotp(ctx context.Context) (*oas.TotpSecret, error) {
	e, err := h.Auth.Factors.Begin(ctx, actor(ctx))
	if err != nil {
		return nil, err
	}
	return &oas.TotpSecret{Secret: e.Secret, URI: e.URI}, nil
}

// RemoveTotp answers DELETE /api/account/totp.
func (h handlers) RemoveTotp(ctx context.Context) (*oas.Deleted, error) {
	return deleted(h.Auth.Factors.Remove(ctx, actor(ctx)))
}

// ConfirmTotp answers POST /api/account/totp/confirm. The reply contains the recovery codes.
func (h handlers) ConfirmTotp(ctx context.Context, req *oas.TotpConfirm) (*oas.RecoveryCodes, error) {
	if err := h.Auth.Limits.FromNetwork(ctx, h.address(ctx)); err != nil {
		return nil, err
	}
	if err := checkTexts(text{"/code", req.Code, core.TextRule{Min: 1, Max: codeRule.Max}}); err != nil {
		return nil, err
	}
	return recoveryCodes(h.Auth.Factors.Confirm(ctx, actor(ctx), req.Code))
}

// RenewRecoveryCodes answers POST /api/account/totp/recovery-codes.
func (h handlers) RenewRecoveryCodes(ctx context.Context) (*oas.RecoveryCodes, error) {
	return recoveryCodes(h.Auth.Factors.Renew(ctx, actor(ctx)))
}

func recoveryCodes(codes []string, err error) (*oas.RecoveryCodes, error) {
	if err != nil {
		return nil, err
	}
	return &oas.RecoveryCodes{RecoveryCodes: codes}, nil
}

func ceremonyReply(c passkey.Ceremony, err error) (*oas.CeremonyReply, error) {
	if err != nil {
		return nil, err
	}
	var options map[string]json.RawMessage
	if err := json.Unmarshal(c.Options, &options); err != nil {
		return nil, fmt.Errorf("read the options of a ceremony: %w", err)
	}
	out := &oas.CeremonyReply{Ceremony: c.Token, Options: oas.CeremonyOptions{}}
	for name, value := range options {
		out.Options[name] = jx.Raw(value)
	}
	return out, nil
}

// encodeAnswer encodes the response of an authenticator for its verification.
func encodeAnswer(answer oas.AuthenticatorAnswer) ([]byte, error) {
	fields := make(map[string]json.RawMessage, len(answer))
	for name, value := range answer {
		fields[name] = json.RawMessage(value)
	}
	encoded, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	return encoded, nil
}

func passkeyReply(k passkey.Passkey, err error) (*oas.PasskeyReply, error) {
	if err != nil {
		return nil, err
	}
	return &oas.PasskeyReply{Passkey: passkeyOf(k)}, nil
}

func passkeyOf(k passkey.Passkey) oas.Passkey {
	return oas.Passkey{ID: k.ID, Name: k.Name, CreatedAt: timestamp(k.CreatedAt), LastUsedAt: optionalTime(k.LastUsedAt)}
}
