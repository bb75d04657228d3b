package upstream

import (
	"context"
	"errors"
	"strings"
	"time"

	"carrel/internal/account"
	"carrel/internal/audit"
	"carrel/internal/core"
)

// skew is how far the provider's clock may be behind ours.
const skew = time.Minute

// proved checks that the person at the provider is the user of the session, and was asked just now.
func (s *Service) proved(ctx context.Context, a Arrival, c claims, j journey) (Arrival, error) {
	user, err := s.store.UserByIdentity(ctx, s.identity(c))
	switch {
	case core.IsKind(err, core.KindNotFound), err == nil && user.ID != a.UserID:
		return a, ErrRefused.Because(errors.New("somebody else signed in at the provider"))
	case err != nil:
		return a, err
	case time.Unix(c.AuthTime, 0).Before(j.BegunAt.Add(-skew)):
		return a, ErrRefused.Because(errors.New("the provider did not ask again"))
	}
	a.User = user
	return a, nil
}

func (s *Service) identity(c claims) Identity {
	return Identity{Issuer: s.opts.Issuer, Subject: c.Subject}
}

// accountOf returns the account of somebody whom the provider knows: the one that is tied to them, else the one with
// their address, which is tied to them from then on, else a new one where that is allowed. The subject decides, not the
// address: addresses are given to others when people leave.
func (s *Service) accountOf(ctx context.Context, c claims) (account.User, error) {
	user, err := s.store.UserByIdentity(ctx, s.identity(c))
	if core.IsKind(err, core.KindNotFound) {
		user, err = s.link(ctx, c)
	}
	switch {
	case err != nil:
		return account.User{}, err
	case user.DisabledAt != nil:
		return account.User{}, errDisabled
	}
	return user, nil
}

// link finds or makes the account of somebody who comes for the first time.
func (s *Service) link(ctx context.Context, c claims) (account.User, error) {
	if !c.Verified || c.Email == "" {
		return account.User{}, errAddress
	}
	user, err := s.store.UserByEmail(ctx, account.NormalEmail(c.Email))
	switch {
	case core.IsKind(err, core.KindNotFound) && s.opts.SignUp:
		return s.signUp(ctx, c)
	case core.IsKind(err, core.KindNotFound):
		return account.User{}, errNoAccount
	case err != nil:
		return account.User{}, err
	case user.DisabledAt != nil:
		return account.User{}, errDisabled
	}
	if err := s.store.LinkIdentity(ctx, s.identity(c), user.ID, s.clock.Now()); err != nil {
		if core.IsKind(err, core.KindConflict) {
			return account.User{}, errOther.Because(err)
		}
		return account.User{}, err
	}
	s.recorder.Note(ctx, audit.Record{Event: audit.UpstreamLinked, UserID: user.ID, Detail: map[string]string{"issuer": s.opts.Issuer}})
	return user, nil
}

// signUp makes an account without a password.
func (s *Service) signUp(ctx context.Context, c claims) (account.User, error) {
	name := strings.TrimSpace(c.Name)
	if name == "" {
		name, _, _ = strings.Cut(c.Email, "@")
	}
	user, err := account.WithoutPassword(c.Email, name, s.opts.Plan, s.clock.Now())
	if err != nil {
		return account.User{}, errAddress.Because(err)
	}
	if err := s.store.InsertUserWithIdentity(ctx, user, s.identity(c)); err != nil {
		return account.User{}, err
	}
	s.recorder.Note(ctx, audit.Record{Event: audit.UserCreated, UserID: user.ID, Detail: map[string]string{"issuer": s.opts.Issuer}})
	return user, nil
}
