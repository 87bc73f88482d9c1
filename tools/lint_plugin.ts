/**
 * House rules that need a syntax tree, run by `deno lint`: function length, catches that hide, default exports.
 * Rules that need only text are in `tests/tidy`.
 * @module
 */

const FUNCTION_LINES_MAX = 70;

/** Long bodies that only list tests, or that one test needs whole, are easier to read in one piece. */
function isTest(context: Deno.lint.RuleContext): boolean {
  return /[\\/]tests[\\/]/.test(context.filename);
}

function checkLength(
  context: Deno.lint.RuleContext,
  node:
    | Deno.lint.FunctionDeclaration
    | Deno.lint.FunctionExpression
    | Deno.lint.ArrowFunctionExpression,
): void {
  const lines = context.sourceCode.getText(node).split("\n").length;
  if (lines <= FUNCTION_LINES_MAX) return;
  context.report({
    range: [node.range[0], node.range[0] + 1],
    message: `This function has ${lines} lines, at most ${FUNCTION_LINES_MAX} are read with ease`,
    hint: "Give a part of it a name of its own",
  });
}

function reportIfEmpty(
  context: Deno.lint.RuleContext,
  node: Deno.lint.Node,
  body: Deno.lint.BlockStatement,
): void {
  if (body.body.length > 0 || context.sourceCode.getText(body).match(/\/[/*]/)) return;
  context.report({
    node,
    message: "This catch hides every error, also those that nobody has thought of",
    hint:
      "Let through all but the expected code, or say in a comment why each error may be dropped",
  });
}

const plugin: Deno.lint.Plugin = {
  name: "tidemark",
  rules: {
    "function-length": {
      create(context) {
        if (isTest(context)) return {};
        return {
          FunctionDeclaration: (node) => checkLength(context, node),
          FunctionExpression: (node) => checkLength(context, node),
          ArrowFunctionExpression: (node) => checkLength(context, node),
        };
      },
    },
    "no-hidden-errors": {
      create(context) {
        return {
          CatchClause: (node) => reportIfEmpty(context, node, node.body),
          'CallExpression[callee.property.name="catch"] > ArrowFunctionExpression'(
            node: Deno.lint.ArrowFunctionExpression,
          ) {
            if (node.body.type === "BlockStatement") reportIfEmpty(context, node, node.body);
          },
        };
      },
    },
    "no-default-export": {
      create(context) {
        if (context.filename.endsWith("lint_plugin.ts")) return {};
        return {
          ExportDefaultDeclaration: (node) =>
            context.report({ node, message: "Exports have names: no default export" }),
        };
      },
    },
  },
};

// The interface of lint plugins wants a default export.
export default plugin;
