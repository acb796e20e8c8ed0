/// The note of who answered, in the metadata of flags and assignments.
enum Answerer {
    static let key = "provider"
}
