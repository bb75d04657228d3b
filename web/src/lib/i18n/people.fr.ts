import type { Text } from './en';
import type { PeopleKey } from './people.en';

export const fr: Record<PeopleKey, Text> = {
  add_person: 'Ajouter une personne',
  invite: 'Inviter par lien',
  invite_text:
    'La personne ouvre le lien et choisit un nom et un mot de passe. Il fonctionne une fois. Carrel n’envoie pas ' +
    'd’e-mail.',
  create: 'Créer un compte',
  create_text: 'Vous saisissez le nom et l’adresse. La personne choisit un mot de passe avec un lien à usage unique.',
  how: 'Comment',
  email_any: 'Laissez vide si la personne peut choisir une adresse.',
  role: 'Rôle',
  plan: 'Offre',
  plan_default: 'Offre par défaut',
  expires: 'Expire après',
  n_days: { one: '{count} jour', other: '{count} jours' },
  create_link: 'Créer le lien',
  link: 'Lien d’invitation',
  link_text: 'Envoyez ce lien à la personne. Il fonctionne une fois, jusqu’au {when}, et ne sera plus affiché.',
  reset_link: 'Lien pour le mot de passe',
  reset_link_text: 'Envoyez ce lien à {name}. Il fonctionne une fois, jusqu’au {when}, et ne sera plus affiché.',
  code: 'Code',
  code_text: 'Si le lien ne peut pas être ouvert, allez sur {page} et saisissez le code.',
  done: 'Terminé',
  invitations: 'Invitations ouvertes',
  any_address: 'N’importe quelle adresse',
  by: 'par {name}',
  revoke: 'Révoquer',
  revoke_text: 'Le lien cesse aussitôt de fonctionner.',
  revoked: 'Invitation révoquée.',
  password: 'Mot de passe',
  password_text:
    'Donnez à une personne qui ne peut pas se connecter un lien à usage unique pour choisir un nouveau mot de ' +
    'passe. Son utilisation ferme toutes les sessions.',
  clear_factors: 'Retirer aussi les passkeys et l’application d’authentification',
  new_reset: 'Créer un lien de réinitialisation',
  models: 'Modèles',
  models_text:
    'Les modèles de langage qui rédigent les réponses. Ce sont des réglages du serveur ; la clé API n’est jamais ' +
    'affichée.',
  no_model_title: 'Aucun modèle de langage n’est connecté',
  no_model_text:
    'Carrel cite vos sources. Pour obtenir des réponses rédigées, ajoutez ces réglages et redémarrez le serveur :',
  setting_file: 'Dans le fichier de réglages',
  setting_env: 'En variables d’environnement',
  preset: 'Fournisseur',
  'preset.ollama': 'Ollama sur cette machine',
  'preset.openai': 'OpenAI',
  'preset.anthropic': 'Anthropic',
  'preset.other': 'Autre, compatible OpenAI',
  provider: 'Fournisseur',
  address: 'Adresse',
  address_default: 'L’adresse propre au fournisseur',
  key: 'Clé API',
  key_set: 'Définie',
  key_none: 'Non définie',
  test: 'Tester la connexion',
  testing: 'Test en cours…',
  test_ok: 'Le fournisseur répond et propose les modèles configurés.',
  test_took: 'HTTP {status} en {ms} ms',
  test_none: 'Aucune réponse après {ms} ms',
  configured: 'Modèles pour les agents',
  model: 'Modèle',
  default_model: 'par défaut',
  price_in: 'Entrée',
  price_out: 'Sortie',
  price_hint: 'Dollars US par million de jetons.',
  unpriced: 'supposé',
  unpriced_text:
    'Les modèles sans prix comptent avec un prix élevé supposé, pour que les plafonds de dépenses tiennent. ' +
    'Définissez model-prices pour le corriger.',
  missing: 'non proposé',
  offered: 'Modèles du fournisseur',
  offered_text:
    'Sélectionnez les modèles que les agents peuvent aussi utiliser. Modifiez ensuite ce réglage et redémarrez ' +
    'le serveur :',
  plans_text: 'Les modèles inclus dans une offre peuvent être changés à tout moment sous',
  'event.invitation_created': 'Invitation créée',
  'event.invitation_revoked': 'Invitation révoquée',
  'event.join_failed': 'Code d’invitation refusé',
};
