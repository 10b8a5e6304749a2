let tried = 0;

/**
 * Tries one way to write a message, and prints what became of it as a line of JSON.
 *
 * @param {string} name what is tried
 * @param {(key: string, body: {n: number}) => Promise<unknown>} write writes one message
 * @param {number} [delay] the seconds from now at which the author of this way wants the message to be due
 */
export async function attempt(name, write, delay) {
  tried += 1;
  const key = `try-${tried}`;
  const body = { n: tried };
  try {
    await write(key, body);
    console.log(JSON.stringify({ try: name, key, body, delay }));
  } catch (error) {
    const words = [error.message, error.sqlMessage, error.cause?.message].find(Boolean) ?? String(error);
    console.log(JSON.stringify({ try: name, key, refused: words.replace(/\s+/g, ' ').slice(0, 200) }));
  }
}
