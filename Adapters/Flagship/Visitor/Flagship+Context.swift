import Experimentation

extension Flagship {
    /// Returns the values that an application may set in a visitor's context, and logs why others are left out.
    func usable(_ values: [String: FlagValue], of visitorID: String) -> [String: FlagValue] {
        var usable = values
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            let problem: String
            if name == FlagshipContextKey.users {
                problem = "is always the visitor's id; another value is left out"
            } else if !FlagshipTranslation.isContextValue(value) {
                problem = "is of a type that Flagship has no word for; it is left out"
            } else {
                continue
            }
            usable[name] = nil
            // A context that was read from a visitor has the visitor's own id.
            if value != .string(visitorID) { environment.log.log(.error, .updateContext, "\(name) \(problem)") }
        }
        return usable
    }
}
