# Copyright 2026 The thinking_policy authors
# SPDX-License-Identifier: Apache-2.0
"""What the message types that many robots publish could feed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """How a field feeds a signal; names as in `SignalConfig`.

    Attributes:
        slot: Which of the seven signals it is, or empty.
        name: Its own name where it is none of them.
        rank: Smaller is a better source of it.
        note: What to know about it.
        zero_is_unset: Whether a value that is always 0 means that a driver does not set it.
    """

    slot: str
    field: str
    within: str = ''
    over: str = 'mean'
    unit: str = ''
    rank: int = 0
    note: str = ''
    name: str = ''
    zero_is_unset: bool = False
    absolute: bool = False
    scale: float = 1.0
    offset: float = 0.0
    sentinels: tuple[float, ...] = ()
    valid: tuple[float, float] = (float('nan'), float('nan'))


_DEGREES = (-60.0, 300.0)
_GRAVITY = 'How much the length of the acceleration varies in a tick: gravity drops out.'
_SHARE = 'The share of beams with a usable range stands in: no robot publishes visibility.'
_BATTERY = (
    Rule('current', 'current', unit='A', absolute=True, zero_is_unset=True,
          note='Negative while it discharges: the amount counts.'),
    Rule('', 'voltage', unit='V', name='voltage', zero_is_unset=True),
    Rule('temperature', 'temperature', unit='degC', rank=2, sentinels=(0.0,), valid=_DEGREES,
          note='Of the battery; drivers without a sensor say NaN or 0.0.'),
    Rule('', 'percentage', name='charge', unit='share', zero_is_unset=True,
          note='0 to 1 by its definition; some drivers write 0 to 100.'),
)  # fmt: skip
RULES: dict[str, tuple[Rule, ...]] = {
    'sensor_msgs/msg/Temperature': (
        Rule('temperature', 'temperature', unit='degC', valid=_DEGREES),
    ),
    'sensor_msgs/msg/BatteryState': _BATTERY,
    'sensor_msgs/msg/Imu': (
        Rule('vibration', 'linear_acceleration', 'norm', 'std', 'm/s2', note=_GRAVITY),
        Rule('motion', 'angular_velocity', 'norm', 'mean', 'rad/s', rank=3,
              note='Turning, as no topic says how fast it drives.'),
    ),
    'sensor_msgs/msg/LaserScan': (
        Rule('distance', 'ranges', 'range_min', 'min', 'm', note='Nearest obstacle by REP-117.'),
        Rule('visibility', 'ranges', 'invalid_fraction', 'mean', 'share', rank=2, note=_SHARE,
              scale=-1.0, offset=1.0),
    ),
    'sensor_msgs/msg/Range': (Rule('distance', 'range', over='min', unit='m', rank=1),),
    'sensor_msgs/msg/JointState': (
        Rule('load', 'effort', 'rms', 'mean', 'Nm',
              note='Some drivers report the motor current here: then the unit is A.'),
        Rule('motion', 'velocity', 'rms', 'mean', 'rad/s', rank=2, note='Of all joints.'),
    ),
    'sensor_msgs/msg/Illuminance': (
        Rule('visibility', 'illuminance', unit='lx', valid=(0.0, float('nan'))),
    ),
    'sensor_msgs/msg/FluidPressure': (
        Rule('', 'fluid_pressure', name='pressure', unit='Pa'),
    ),
    'sensor_msgs/msg/RelativeHumidity': (
        Rule('', 'relative_humidity', name='humidity', unit='share'),
    ),
    'sensor_msgs/msg/MagneticField': (
        Rule('', 'magnetic_field', 'norm', name='magnetic_field', unit='T'),
    ),
    'nav_msgs/msg/Odometry': (
        Rule('motion', 'twist.twist.linear', 'norm', 'mean', 'm/s',
              note='Turning on the spot is not in it.'),
    ),
    'geometry_msgs/msg/TwistStamped': (
        Rule('motion', 'twist.linear', 'norm', 'mean', 'm/s', rank=1),
    ),
    'geometry_msgs/msg/TwistWithCovarianceStamped': (
        Rule('motion', 'twist.twist.linear', 'norm', 'mean', 'm/s', rank=1),
    ),
    'geometry_msgs/msg/Twist': (
        Rule('motion', 'linear', 'norm', 'mean', 'm/s', rank=4,
              note='Perhaps what was commanded, not what was done.'),
    ),
    'geometry_msgs/msg/AccelStamped': (
        Rule('vibration', 'accel.linear', 'norm', 'std', 'm/s2', rank=1, note=_GRAVITY),
    ),
    'geometry_msgs/msg/WrenchStamped': (
        Rule('load', 'wrench.force', 'norm', 'mean', 'N', rank=1),
    ),
    'geometry_msgs/msg/Wrench': (Rule('load', 'force', 'norm', 'mean', 'N', rank=1),),
    'px4_msgs/msg/BatteryStatus': (
        Rule('current', 'current_a', unit='A', sentinels=(-1.0,), absolute=True),
        Rule('', 'voltage_v', unit='V', name='voltage', sentinels=(0.0,)),
        Rule('temperature', 'temperature', unit='degC', rank=2, valid=_DEGREES),
    ),
    'px4_msgs/msg/SensorCombined': (
        Rule('vibration', 'accelerometer_m_s2', 'norm', 'std', 'm/s2', rank=1, note=_GRAVITY),
    ),
    'px4_msgs/msg/VehicleImuStatus': (
        Rule('vibration', 'accel_vibration_metric', unit='m/s2'),
        Rule('temperature', 'temperature_accel', unit='degC', rank=3, valid=_DEGREES),
    ),
    'px4_msgs/msg/DistanceSensor': (
        Rule('distance', 'current_distance', over='min', unit='m', rank=1),
    ),
}  # fmt: skip
