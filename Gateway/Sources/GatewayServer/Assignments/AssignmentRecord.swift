import Experimentation

/// A user's assignments that are still to be stored, unless others have been stored first.
struct AssignmentRecord: Sendable, Codable {
    var userID: String
    var assignments: EarlierAssignments
}
