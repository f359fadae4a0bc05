# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""A robot that isn't there: real sensor messages from a life of training/simulator.py.

Its topics, types and units are those of config/policy.yaml.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import BatteryState, Illuminance, Imu, LaserScan, Temperature
from std_msgs.msg import Float32, String

from thinking_policy.ros import qos
from thinking_policy.ros.declaring import declare_options
from thinking_policy.ros.spinning import run_node
from thinking_policy.situation.configuration import option
from thinking_policy.training.scenarios import DEFAULT_SCENARIO, SCENARIOS, SIGNALS
from thinking_policy.training.simulator import Moment, SimulatedRobot

NODE_NAME = 'simulated_robot'
SENSOR_PERIOD_S = 0.1
IMU_PERIOD_S = 0.01
SHAKE_HZ = 10.0  # whole periods fit into every tick, so that their spread is exact
GRAVITY = 9.81  # m/s^2
BEAMS = 90
SCAN_FARTHEST_M = 12.0
BEHIND_M = 1.5  # how far the other beams see beyond the nearest thing


@dataclass(frozen=True)
class RobotOptions:
    """The simulated robot's parameters."""

    scenario: str = option(
        DEFAULT_SCENARIO, 'what it lives through, over and over', choices=tuple(sorted(SCENARIOS))
    )
    seed: int = option(0, 'which robot in which life', low=0)
    speed: float = option(1.0, 'times the usual pace of life', low=0.01, high=100.0)


class SimulatedRobotNode(Node):
    """Publishes seven sensor topics, and what it lives through on `simulation/phase`."""

    def __init__(self) -> None:
        """Begin a life.

        Raises:
            SituationError: A parameter is refused.
        """
        super().__init__(NODE_NAME)
        self.finished = False
        options = declare_options(self, RobotOptions)
        self._speed = options.speed
        self._robot = SimulatedRobot(options.scenario, options.seed)
        self._phase = ''
        self._began_s = time.monotonic()
        self._shakes = 0
        self._moment = self._robot.at(0.0)
        sensor = qos_profile_sensor_data
        self._temperature = self.create_publisher(Temperature, 'temperature', sensor)
        self._battery = self.create_publisher(BatteryState, 'battery_state', sensor)
        self._imu = self.create_publisher(Imu, 'imu/data', sensor)
        self._scan = self.create_publisher(LaserScan, 'scan', sensor)
        self._light = self.create_publisher(Illuminance, 'illuminance', sensor)
        self._odometry = self.create_publisher(Odometry, 'odom', sensor)
        self._load = self.create_publisher(Float32, 'load', sensor)
        self._phases = self.create_publisher(String, 'simulation/phase', qos.taxonomy_output())
        self.get_logger().info(
            f'lives through {" > ".join(SCENARIOS[options.scenario])}, over and over'
        )

    def start(self) -> None:
        """Begin to publish."""
        self.create_timer(SENSOR_PERIOD_S, self._sense)
        self.create_timer(IMU_PERIOD_S, self._shake)

    def report(self, where: str, error: Exception) -> None:
        """Say what a callback let through."""
        self.get_logger().error(f'{where}: {error}')

    def close(self) -> None:
        """Do nothing: there is nothing to flush."""

    def _sense(self) -> None:
        self._moment = self._robot.at((time.monotonic() - self._began_s) * self._speed)
        self._say_phase(self._moment)
        values = _in_units(self._moment)
        stamp = self.get_clock().now().to_msg()

        temperature = Temperature(temperature=values['temperature'])
        temperature.header.stamp = stamp
        self._temperature.publish(temperature)

        # As the message defines it: discharging is negative.
        battery = BatteryState(current=-values['current'], voltage=24.0, present=True)
        battery.header.stamp = stamp
        self._battery.publish(battery)

        light = Illuminance(illuminance=values['visibility'])
        light.header.stamp = stamp
        self._light.publish(light)

        odometry = Odometry()
        odometry.header.stamp = stamp
        odometry.twist.twist.linear.x = values['motion']
        self._odometry.publish(odometry)

        scan = _scan(values['distance'])
        scan.header.stamp = stamp
        self._scan.publish(scan)

        self._load.publish(Float32(data=values['load']))

    def _shake(self) -> None:
        """Publish gravity and a shaking whose standard deviation is the vibration."""
        self._shakes += 1
        amplitude = math.sqrt(2.0) * _in_units(self._moment)['vibration']
        angle = 2.0 * math.pi * SHAKE_HZ * self._shakes * IMU_PERIOD_S
        imu = Imu()
        imu.header.stamp = self.get_clock().now().to_msg()
        imu.linear_acceleration.z = GRAVITY + amplitude * math.sin(angle)
        self._imu.publish(imu)

    def _say_phase(self, moment: Moment) -> None:
        if moment.phase != self._phase:
            self._phase = moment.phase
            self._phases.publish(String(data=moment.phase))


def _in_units(moment: Moment) -> dict[str, float]:
    return {
        signal.name: signal.in_unit(float(scaled))
        for signal, scaled in zip(SIGNALS, moment.values, strict=True)
    }


def _scan(nearest_m: float) -> LaserScan:
    """Return a scan whose nearest beam is `nearest_m` away, the one straight ahead."""
    ranges = np.full(BEAMS, min(nearest_m + BEHIND_M, SCAN_FARTHEST_M), np.float32)
    ranges[BEAMS // 2] = nearest_m
    return LaserScan(
        angle_min=-math.pi / 2,
        angle_max=math.pi / 2,
        angle_increment=math.pi / (BEAMS - 1),
        range_min=0.05,
        range_max=SCAN_FARTHEST_M,
        ranges=ranges.tolist(),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Live until SIGINT or SIGTERM and return the exit code.

    Args:
        arguments: Command line with `--ros-args`; `sys.argv` where None.
    """
    return run_node(SimulatedRobotNode, arguments)


if __name__ == '__main__':
    raise SystemExit(main())
