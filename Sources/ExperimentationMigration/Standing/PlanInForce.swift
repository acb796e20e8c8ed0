/// The version of the plan that an instance goes by, and where the move stood when it came.
struct PlanInForce: Sendable {
    var plan: MigrationPlan
    /// What the store had then; `nil` if that isn't known.
    ///
    /// Whatever differs in the store now came later than the plan.
    var origin: Standing?

    init(_ plan: MigrationPlan, since origin: Standing? = nil) { (self.plan, self.origin) = (plan, origin) }
}
