// All components use runes.
export default { compilerOptions: { runes: true } };
