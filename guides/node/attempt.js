let tried = 0;

/**
 * Tries one way to write a message, and prints what became of it as a line of JSON.
 *
 * @callback Attempt
 * @param {string} name what is tried
 * @param {(key: string, body: {n: number}) => PromiseLike<unknown>} write writes one message
 * @param {number} [delay] the seconds from now at which the author of such code wants the message to be due
 */

/** @type {(stack: string) => Attempt} */
export const attemptsWith = (stack) => async (name, write, delay) => {
  tried += 1;
  const key = `try-${tried}`;
  const body = { n: tried };
  try {
    await write(key, body);
    console.log(JSON.stringify({ stack, try: name, key, body, delay }));
  } catch (error) {
    console.log(JSON.stringify({ stack, try: name, key, refused: wordsOf(error) }));
  }
};

/**
 * The server's own words, where the stack puts others around them.
 *
 * @param {any} error
 */
function wordsOf(error) {
  const inner = error.original ?? error.cause ?? error;
  const words = inner.sqlMessage ?? inner.message;
  // Knex: the statement, a dash, and the words. Prisma: the call, a code, and "Message: `the words`".
  return words.split(' - ').at(-1).replace(/\s+/g, ' ').replace(/^.* Message: `(.*)`$/, '$1').trim().slice(0, 200);
}
