//! The callers that wait for outcomes of their orders.

use std::collections::HashMap;
use std::sync::mpsc::SyncSender;

use crate::fleet::Outcome;

/// The number of further questions after which an unanswered one is dropped, because its caller has gone.
const QUESTIONS_MAX: u32 = 100;

/// Pending orders: one is carried out at a time; some are answered later, by a worker.
#[derive(Default)]
pub struct Questions {
    /// The caller of the current order.
    asking: Option<SyncSender<Outcome>>,
    /// The callers of questions to workers, by the number of the question.
    asked: HashMap<u32, SyncSender<Outcome>>,
    last: u32,
}

impl Questions {
    /// Begins an order of this caller.
    pub fn begin(&mut self, to: SyncSender<Outcome>) {
        self.asking = Some(to);
    }

    /// Answers the current order.
    pub fn answer(&mut self, outcome: Outcome) {
        if let Some(to) = self.asking.take() {
            let _ = to.send(outcome);
        }
    }

    /// Postpones the answer to the current order until a worker answers the question with the returned number.
    pub fn defer(&mut self) -> u32 {
        self.last = self.last.wrapping_add(1);
        let last = self.last;
        self.asked.retain(|number, _| last.wrapping_sub(*number) < QUESTIONS_MAX);
        self.asked.extend(self.asking.take().map(|to| (last, to)));
        last
    }

    /// Answers a postponed order.
    pub fn answered(&mut self, number: u32, text: String) {
        if let Some(to) = self.asked.remove(&number) {
            let _ = to.send(Ok(text));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, sync_channel};

    use super::*;

    fn ask(questions: &mut Questions) -> Receiver<Outcome> {
        let (to, outcome) = sync_channel(1);
        questions.begin(to);
        outcome
    }

    #[test]
    fn an_order_is_answered_at_once_or_by_a_worker_and_by_no_other_number() {
        let mut questions = Questions::default();
        let at_once = ask(&mut questions);
        questions.answer(Ok("done".to_owned()));
        questions.answer(Ok("again".to_owned()));
        assert_eq!(at_once.iter().collect::<Vec<_>>(), [Ok("done".to_owned())]);
        let later = ask(&mut questions);
        let number = questions.defer();
        questions.answer(Ok("it is not asking any more".to_owned()));
        questions.answered(number + 1, "another's".to_owned());
        questions.answered(number, "its own".to_owned());
        assert_eq!(later.iter().collect::<Vec<_>>(), [Ok("its own".to_owned())]);
    }

    #[test]
    fn those_who_were_not_answered_for_long_are_forgotten() {
        let mut questions = Questions::default();
        for _ in 0..3 * QUESTIONS_MAX {
            drop(ask(&mut questions));
            questions.defer();
        }
        assert!(questions.asked.len() <= QUESTIONS_MAX as usize);
    }
}
