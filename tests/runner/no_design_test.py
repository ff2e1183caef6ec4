"""What no design can give: where a provider recognises no repeat and answers no question, none of the designs of up to two
choices keeps everything - something happens twice, is lost, or goes to a human. Where it does both, many do."""
import subprocess

import program
from program import Case, run

PROBE = program.MORE[0]
WORLD = """scenario: {name}
workflow: order
orders: 1
gateway: {gateway}
mail: {mail}
resolve_attempts: 100
faults:
  base: quiet
  swarm: false
  customer.address: off
  request: {{lost: 1/8}}
  answer: {{lost: 1/8}}
  gateway.charge: {{error_before: 1/8, error_after: 1/8}}
  mailer.send: {{error_before: 1/8, error_after: 1/8}}
"""


class NoDesign(Case):
    def kept(self, gateway, mail, seeds=(100, 5000)):
        path = self.write("world.yaml", WORLD.format(name="world", gateway=gateway, mail=mail))
        done = subprocess.run([PROBE, path, *map(str, seeds)], cwd=program.SOURCE, stdout=subprocess.PIPE, text=True, timeout=600, check=True)
        lines = done.stdout.splitlines()
        tried = int(lines[-1].split()[0])
        self.assertGreater(tried, 4000)
        print(f"gateway {gateway}, mail {mail}: {lines[-1]}")
        return lines[:-1]

    def test_a_mute_gateway_is_too_much_for_each(self):
        self.assertEqual(self.kept("mute", "ideal"), [])

    def test_a_mute_mail_provider_is_too_much_for_each(self):
        self.assertEqual(self.kept("ideal", "mute"), [])

    def test_ideal_providers_are_not(self):
        kept = self.kept("ideal", "ideal", (20, 60))
        self.assertIn("recommended", kept)
        self.assertGreater(len(kept), 500)
        self.assertNotIn("payment.key=fresh", kept)
        self.assertNotIn("email.message_id=fresh", kept)

    def test_the_recommended_one_does_nothing_twice_and_opens_cases(self):
        done = run("run", "order-mute", "--seeds", 3000, "--json")
        self.assert_code(done, 0)
        self.assertEqual(done.summaries()[0]["violations"], {})
        self.assertGreater(done.summaries()[0]["endings"]["open"], 100)


if __name__ == "__main__":
    program.main()
