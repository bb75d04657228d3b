// Components are in runes mode throughout; nothing else differs from the defaults.
export default { compilerOptions: { runes: true } };
