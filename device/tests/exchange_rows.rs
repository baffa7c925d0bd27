//! Exchange rows against rows that an independent encoder made: event model, encoder, decoder, checker.

mod exchange_cases;

use ipu_device::isa::{Context, decode_all};
use ipu_device::units::Event;

#[test]
fn rows_of_the_cases_decode_to_their_instructions_and_times() {
    let mut rows = 0;
    for case in exchange_cases::load().cases {
        for row in &case.rows {
            let mut time = Event(0);
            let decoded = decode_all(Context::Supervisor, &row.words).expect("known words");
            assert_eq!(decoded.len(), row.decoded.len());
            for ((_, instruction), (start, end, text)) in decoded.iter().zip(&row.decoded) {
                assert_eq!((time, &instruction.to_string()), (*start, text), "{}", case.name);
                time += Event(i64::from(instruction.events().unwrap_or(0)));
                assert_eq!(time, *end);
            }
            rows += 1;
        }
    }
    assert_eq!(rows, 62);
}
