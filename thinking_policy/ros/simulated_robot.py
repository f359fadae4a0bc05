# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A robot that isn't there: seven real sensor topics, from a scenario lived through in a cycle.

What happens comes from `training/scenarios.py`, in the units of a robot. The phase of the
scenario is published beside, for people: no policy hears it.
"""

from __future__ import annotations

import array
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import BatteryState, Illuminance, Imu, LaserScan, Temperature
from std_msgs.msg import Float32, String

from thinking_policy.ros import qos
from thinking_policy.ros.declaring import declare_options
from thinking_policy.ros.middleware_events import SILENT_PUBLISHER
from thinking_policy.ros.spinning import run_node
from thinking_policy.situation.configuration import option
from thinking_policy.training.scenarios import DEFAULT_SCENARIO, SCENARIOS, SIGNALS
from thinking_policy.training.simulator import SimulatedRobot

NODE_NAME = 'simulated_robot'
FASTEST_HZ = 100  # of the IMU; the other rates divide it
GRAVITY = 9.80665
SHAKE_HZ = 23.0  # between the tick's rate and half of the IMU's
BEAMS = 90
RANGE_MIN, RANGE_MAX = 0.12, 8.0


@dataclass(frozen=True)
class RobotOptions:
    """The simulated robot's parameters."""

    scenario: str = option(
        DEFAULT_SCENARIO, 'what it lives through, over and over', choices=tuple(SCENARIOS)
    )
    seed: int = option(0, 'the same seed is the same robot in the same life', low=0)
    speed: float = option(
        1.0, 'how much faster than real time everything happens', low=0.01, high=100.0
    )


class SimulatedRobotNode(Node):
    """Publishes all topics from one timer."""

    def __init__(self) -> None:
        """Declare the parameters and begin to live.

        Raises:
            SituationError: A parameter is refused.
        """
        super().__init__(NODE_NAME)
        self.finished = False
        self.exit_code = 0
        self._options = declare_options(self, RobotOptions)
        self._robot = SimulatedRobot(self._options.scenario, self._options.seed)
        self._random = np.random.default_rng(self._options.seed)
        self._step = 0
        self._phase = ''
        self._values: dict[str, float] = {}
        self._distance_travelled = 0.0
        # name of the sensor → (its messages come every so many steps, what publishes one)
        self._sensors: tuple[tuple[int, Callable[[], None]], ...] = (
            (1, self._sensor(Imu, 'imu/data', self._fill_imu)),
            (5, self._sensor(Odometry, 'odom', self._fill_odometry)),
            (10, self._sensor(LaserScan, 'scan', self._fill_scan)),
            (10, self._sensor(Float32, 'load', self._fill_load)),
            (20, self._sensor(BatteryState, 'battery_state', self._fill_battery)),
            (20, self._sensor(Illuminance, 'illuminance', self._fill_illuminance)),
            (25, self._sensor(Temperature, 'temperature', self._fill_temperature)),
        )
        self._phases = self.create_publisher(
            String, 'simulation/phase', qos.taxonomy_output(), event_callbacks=SILENT_PUBLISHER
        )
        self._angles = np.linspace(-math.pi, math.pi, BEAMS, endpoint=False)

    def start(self) -> None:
        """Begin to publish."""
        self.create_timer(1.0 / FASTEST_HZ, self._live)
        self.get_logger().info(
            f'scenario {self._options.scenario}, seed {self._options.seed}: '
            f'{len(self._sensors)} sensor topics'
        )

    def report(self, where: str, error: Exception) -> None:
        """Say what a callback let through."""
        self.get_logger().error(f'{where}: {error}', throttle_duration_sec=10.0)

    def close(self) -> None:
        """Nothing is left to flush."""

    def _live(self) -> None:
        """Publish what is due at this step."""
        moment = self._robot.at(self._step / FASTEST_HZ * self._options.speed)
        self._values = {
            signal.name: signal.in_unit(float(value))
            for signal, value in zip(SIGNALS, moment.values, strict=True)
        }
        if moment.phase != self._phase:
            self._phase = moment.phase
            self._phases.publish(String(data=moment.phase.replace('_', ' ')))
        for every, publish in self._sensors:
            if self._step % every == 0:
                publish()
        self._step += 1

    def _sensor(
        self, kind: type, topic: str, fill: Callable[[object], None]
    ) -> Callable[[], None]:
        """Return what fills and publishes the message of a sensor; it is made once."""
        publisher = self.create_publisher(
            kind, topic, qos_profile_sensor_data, event_callbacks=SILENT_PUBLISHER
        )
        message = kind()

        def publish() -> None:
            if hasattr(message, 'header'):
                message.header.stamp = self.get_clock().now().to_msg()
            fill(message)
            publisher.publish(message)

        return publish

    def _fill_imu(self, message: Imu) -> None:
        """Shake up and down so that the norm varies by the vibration's standard deviation."""
        message.header.frame_id = 'imu_link'
        amplitude = math.sqrt(2.0) * max(0.0, self._values['vibration'])
        phase = 2.0 * math.pi * SHAKE_HZ * self._step / FASTEST_HZ
        message.linear_acceleration.z = GRAVITY + amplitude * math.sin(phase)
        message.orientation.w = 1.0

    def _fill_odometry(self, message: Odometry) -> None:
        message.header.frame_id, message.child_frame_id = 'odom', 'base_link'
        speed = max(0.0, self._values['motion'])
        self._distance_travelled += speed * 5 / FASTEST_HZ
        message.pose.pose.position.x = self._distance_travelled
        message.pose.pose.orientation.w = 1.0
        message.twist.twist.linear.x = speed

    def _fill_scan(self, message: LaserScan) -> None:
        """Return the distance straight ahead, more elsewhere, and nothing on some beams."""
        message.header.frame_id = 'laser'
        message.angle_min, message.angle_max = float(self._angles[0]), float(self._angles[-1])
        message.angle_increment = 2.0 * math.pi / BEAMS
        message.range_min, message.range_max = RANGE_MIN, RANGE_MAX
        nearest = min(max(self._values['distance'], RANGE_MIN), RANGE_MAX - 0.5)
        ranges = nearest * (1.0 + 0.8 * np.abs(self._angles) / math.pi)
        ranges += self._random.uniform(0.0, 0.02, BEAMS) * (self._angles != 0.0)
        ranges[self._random.random(BEAMS) < 0.05] = math.inf
        ranges[BEAMS // 2] = nearest
        ranges[ranges > RANGE_MAX] = math.inf
        message.ranges = array.array('f', ranges.astype(np.float32).tobytes())

    def _fill_load(self, message: Float32) -> None:
        message.data = self._values['load']

    def _fill_battery(self, message: BatteryState) -> None:
        message.present = True
        message.voltage, message.percentage = 24.6, 0.87
        message.charge = message.capacity = message.temperature = math.nan  # not measured
        message.current = -self._values['current']  # discharging
        message.power_supply_status = BatteryState.POWER_SUPPLY_STATUS_DISCHARGING

    def _fill_illuminance(self, message: Illuminance) -> None:
        message.illuminance = max(0.0, self._values['visibility'])

    def _fill_temperature(self, message: Temperature) -> None:
        message.temperature = self._values['temperature']


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the robot until SIGINT or SIGTERM and return the exit code.

    Args:
        arguments: Command line with `--ros-args`; `sys.argv` where None.
    """
    return run_node(SimulatedRobotNode, arguments)


if __name__ == '__main__':
    raise SystemExit(main())
