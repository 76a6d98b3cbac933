//! The shared store on a real PostgreSQL.

mod circles;
mod contract;
mod damage;
mod groups;
mod leases;
mod listing;
mod lost_answers;
mod news;
mod opening;
mod outage;
mod place;
mod privacy;
mod refusing;
mod sealing;
