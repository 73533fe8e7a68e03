# SPDX-License-Identifier: Apache-2.0
"""Programs that jobs run in these tests."""

# Saves after each step and says where it resumed, so that the output tells its story.
COUNTER = r"""
echo "begin attempt $LOAM_ATTEMPT at $LOAM_RESUMED_STEP"
for i in $(seq $((LOAM_RESUMED_STEP+1)) $STEPS); do
  sleep $PACE
  echo "step $i loss 1"
  mkdir ckpt/step-$i.tmp
  echo "state $i" > ckpt/step-$i.tmp/state
  mv ckpt/step-$i.tmp ckpt/step-$i
done
echo "finished by attempt $LOAM_ATTEMPT" > out/result
"""

# Cannot be ended but by SIGKILL, and neither can what it leaves in a session of its own.
STUBBORN = r"""
trap '' TERM INT HUP
setsid bash -c 'trap "" TERM INT HUP; while :; do sleep 0.5; done' &
echo "step 1"
while :; do sleep 0.5; done
"""

CHECKPOINT = {"path": "ckpt/", "unit": "directory", "match": r"step-(\d+)"}
PROGRESS = {"pattern": r"step (\d+)"}


def counter(fleet, steps, pace=0.1, to="/users/e2e/result", **more):
    return fleet.job(COUNTER, checkpoint=CHECKPOINT, progress=PROGRESS,
                     sync={"after": [{"from": "out/", "to": to}]},
                     environment={"STEPS": str(steps), "PACE": str(pace)}, **more)


def result(fleet, to="/users/e2e/result"):
    answer = fleet.api.file(f"{to}/result")
    return answer.body.decode() if answer.status == 200 else None
