//! The tests of the machine, as one program: linked and optimised once. A file here is a module of it.

mod element_orders;
mod exchange_cases;
mod exchange_rows;
mod fake_machine;
mod gemm_arithmetic;
mod instruction_vectors;
mod kernel_costs;
mod kernel_movement;
mod numerics_vectors;
mod package;
mod package_sample;
mod run_on_simulator;
mod runtime;
mod schema;
mod seed_case;
mod simulator_exchange;
mod simulator_fabric;
mod simulator_machine;
mod simulator_schedules;
mod tile_programs;
mod whole_programs;
