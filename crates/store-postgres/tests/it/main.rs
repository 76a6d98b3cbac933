//! The shared store on a real PostgreSQL.

mod contract;
mod damage;
mod leases;
mod groups;
mod lost_answers;
mod news;
mod opening;
mod outage;
mod place;
mod privacy;
mod sealing;
